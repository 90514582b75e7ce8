"""Keras with torch below: two models by compile and fit, one of them with convolutions, batch norm and dropout."""

import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(4)
digits = load_digits()
x_train, x_test, y_train, y_test = train_test_split(
    digits.images[..., None].astype("float32") / 16, digits.target, test_size=0.25, random_state=4
)

model = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        layers.Flatten(),
        layers.Dense(64, activation="relu"),
        layers.Dropout(0.2),
        layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(x_train, y_train, batch_size=32, epochs=8, validation_data=(x_test, y_test), verbose=0)
for name, values in sorted(history.history.items()):
    print(name, [float(value).hex() for value in values])
print(model.evaluate(x_test, y_test, verbose=0), np.argmax(model.predict(x_test[:5], verbose=0), 1))

inputs = keras.Input((8, 8, 1))
x = layers.Conv2D(16, 3, padding="same")(inputs)
x = layers.BatchNormalization()(x)
x = layers.Activation("relu")(x)
x = layers.MaxPooling2D()(x)
x = layers.Conv2D(32, 3, padding="same", activation="relu")(x)
x = layers.GlobalAveragePooling2D()(x)
outputs = layers.Dense(10)(x)
model = keras.Model(inputs, outputs)
model.compile(
    optimizer=keras.optimizers.SGD(keras.optimizers.schedules.CosineDecay(0.2, 250), momentum=0.9),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
history = model.fit(x_train, y_train, batch_size=32, epochs=6, validation_split=0.2, verbose=0)
for name, values in sorted(history.history.items()):
    print(name, [float(value).hex() for value in values])
